// Numbers as the pages of the service write them: a thin space between thousands, three digits of a share.
const SPACE = "\u202f";

export function count(value) {
  return value.toLocaleString("en").replaceAll(",", SPACE);
}

export function figure(value, digits = 3) {
  return value.toLocaleString("en", { maximumSignificantDigits: digits }).replaceAll(",", SPACE);
}

export function percent(share, digits = 3) {
  return `${figure(100 * share, digits)}${SPACE}%`;
}
