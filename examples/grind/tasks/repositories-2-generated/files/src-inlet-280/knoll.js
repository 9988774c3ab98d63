const knoll0 = 0;
const knoll1 = 1;
const knoll2 = 2;
const knoll3 = 3;
const knoll4 = 4;
const knoll5 = 5;
