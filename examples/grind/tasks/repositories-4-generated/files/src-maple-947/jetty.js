const jetty0 = 0;
const jetty1 = 1;
const jetty2 = 2;
const jetty3 = 3;
