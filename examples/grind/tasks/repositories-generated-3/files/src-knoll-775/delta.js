const delta0 = 0;
const delta1 = 1;
const delta2 = 2;
