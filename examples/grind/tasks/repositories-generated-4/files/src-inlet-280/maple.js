const maple0 = 0;
const maple1 = 1;
const maple2 = 2;
