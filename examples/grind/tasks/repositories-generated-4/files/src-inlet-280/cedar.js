const cedar0 = 0;
const cedar1 = 1;
const cedar2 = 2;
const cedar3 = 3;
const cedar4 = 4;
const cedar5 = 5;
const cedar6 = 6;
const cedar7 = 7;
