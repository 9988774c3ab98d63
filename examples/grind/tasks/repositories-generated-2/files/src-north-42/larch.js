const larch0 = 0;
const larch1 = 1;
const larch2 = 2;
const larch3 = 3;
const larch4 = 4;
