/** UTF-16 units whose order differs from that of UTF-8. */
const DIFFERENT = /[\ud800-\uffff]/;
const FIRST_SURROGATE = 0xd800;
const AFTER_SURROGATES = 0xe000;
const SURROGATES = AFTER_SURROGATES - FIRST_SURROGATE;
const UNITS = 0x10000;

/**
 * Converts a text so that the order of JavaScript strings becomes the order of UTF-8 bytes, which the
 * service uses. The result differs from the text only for characters from U+D800 on.
 */
export function textOrder(text: string): string {
  if (!DIFFERENT.test(text)) return text;
  let order = '';
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < FIRST_SURROGATE) order += text[i];
    else if (unit < AFTER_SURROGATES) order += String.fromCharCode(unit + UNITS - AFTER_SURROGATES);
    else order += String.fromCharCode(unit - SURROGATES);
  }
  return order;
}

/** Negative, zero or positive, in the order of UTF-8. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return textOrder(a) < textOrder(b) ? -1 : 1;
}
