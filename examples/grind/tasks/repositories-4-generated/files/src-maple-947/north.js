const north0 = 0;
const north1 = 1;
const north2 = 2;
const north3 = 3;
