const cedar0 = 0;
const cedar1 = 1;
const cedar2 = 2;
const cedar3 = 3;
const cedar4 = 4;
