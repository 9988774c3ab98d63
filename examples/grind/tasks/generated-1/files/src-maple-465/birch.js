const birch0 = 0;
const birch1 = 1;
const birch2 = 2;
