const delta0 = 0;
const delta1 = 1;
const delta2 = 2;
const delta3 = 3;
const delta4 = 4;
const delta5 = 5;
const delta6 = 6;
