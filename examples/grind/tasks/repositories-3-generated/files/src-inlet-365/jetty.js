const jetty0 = 0;
const jetty1 = 1;
const jetty2 = 2;
const jetty3 = 3;
const jetty4 = 4;
const jetty5 = 5;
const jetty6 = 6;
const jetty7 = 7;
