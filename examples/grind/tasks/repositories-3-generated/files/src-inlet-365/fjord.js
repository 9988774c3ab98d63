const fjord0 = 0;
const fjord1 = 1;
const fjord2 = 2;
const fjord3 = 3;
const fjord4 = 4;
const fjord5 = 5;
