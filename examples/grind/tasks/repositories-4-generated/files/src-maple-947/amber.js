const amber0 = 0;
const amber1 = 1;
const amber2 = 2;
const amber3 = 3;
const amber4 = 4;
const amber5 = 5;
const amber6 = 6;
