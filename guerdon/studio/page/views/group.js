export { show } from "/page/views/nothing.js";
