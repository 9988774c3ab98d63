const grove0 = 0;
const grove1 = 1;
const grove2 = 2;
const grove3 = 3;
const grove4 = 4;
const grove5 = 5;
const grove6 = 6;
