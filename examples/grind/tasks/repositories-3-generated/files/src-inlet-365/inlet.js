const inlet0 = 0;
const inlet1 = 1;
const inlet2 = 2;
const inlet3 = 3;
const inlet4 = 4;
