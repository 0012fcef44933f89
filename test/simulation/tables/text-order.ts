/** The first unit of UTF-16 from which on its order and that of UTF-8 differ. */
const DIFFERENT = /[\ud800-\uffff]/;
const FIRST_SURROGATE = 0xd800;
const AFTER_SURROGATES = 0xe000;
const SURROGATES = AFTER_SURROGATES - FIRST_SURROGATE;
const UNITS = 0x10000;

/**
 * A text whose order as a JavaScript string is the order of the given text's UTF-8 bytes, by which the
 * service sorts. Most texts are their own: only characters beyond U+FFFF sort differently.
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
