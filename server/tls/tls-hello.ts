/** The first byte of a TLS handshake record. */
export const TLS_HANDSHAKE = 0x16;
const CLIENT_HELLO = 1;
/** Type, version and length of a record. */
const RECORD_HEAD_BYTES = 5;
/** Type and length of a handshake message. */
const MESSAGE_HEAD_BYTES = 4;
const RECORD_BYTES_MAX = 16 * 1024;

/**
 * Whether a TLS client's hello is complete, with which the work of a handshake begins. TLS allows a hello to span
 * records, but no common client does so; such a hello counts as malformed.
 */
export function helloState(bytes: Buffer): 'incomplete' | 'malformed' | 'whole' {
  if (bytes.length < RECORD_HEAD_BYTES + MESSAGE_HEAD_BYTES) return 'incomplete';
  const recordBytes = bytes.readUInt16BE(3);
  const isHello = bytes[RECORD_HEAD_BYTES] === CLIENT_HELLO;
  const helloBytes = MESSAGE_HEAD_BYTES + bytes.readUIntBE(RECORD_HEAD_BYTES + 1, 3);
  if (!isHello || helloBytes > recordBytes || recordBytes > RECORD_BYTES_MAX) return 'malformed';
  return bytes.length < RECORD_HEAD_BYTES + recordBytes ? 'incomplete' : 'whole';
}
