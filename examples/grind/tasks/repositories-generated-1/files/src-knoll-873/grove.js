const grove0 = 0;
const grove1 = 1;
const grove2 = 2;
