const birch0 = 0;
const birch1 = 1;
const birch2 = 2;
const birch3 = 3;
const birch4 = 4;
