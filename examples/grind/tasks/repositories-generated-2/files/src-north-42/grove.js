const grove0 = 0;
const grove1 = 1;
