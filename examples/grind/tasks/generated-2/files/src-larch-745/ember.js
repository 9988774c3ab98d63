const ember0 = 0;
const ember1 = 1;
const ember2 = 2;
const ember3 = 3;
const ember4 = 4;
const ember5 = 5;
