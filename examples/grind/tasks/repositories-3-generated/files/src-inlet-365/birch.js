const birch0 = 0;
const birch1 = 1;
const birch2 = 2;
const birch3 = 3;
const birch4 = 4;
const birch5 = 5;
const birch6 = 6;
const birch7 = 7;
