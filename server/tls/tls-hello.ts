/** The first byte of a record of the handshake. */
export const TLS_HANDSHAKE = 0x16;
const CLIENT_HELLO = 1;
/** Type, version and length of a record. */
const RECORD_HEAD_BYTES = 5;
/** Type and length of a message of the handshake. */
const MESSAGE_HEAD_BYTES = 4;
const RECORD_BYTES_MAX = 16 * 1024;

/**
 * Whether the hello of a TLS client has come, with which the work of a handshake begins. No client of note
 * divides it among records, as TLS would allow: such a one counts as malformed.
 */
export function helloState(bytes: Buffer): 'incomplete' | 'malformed' | 'whole' {
  if (bytes.length < RECORD_HEAD_BYTES + MESSAGE_HEAD_BYTES) return 'incomplete';
  const recordBytes = bytes.readUInt16BE(3);
  const isHello = bytes[RECORD_HEAD_BYTES] === CLIENT_HELLO;
  const helloBytes = MESSAGE_HEAD_BYTES + bytes.readUIntBE(RECORD_HEAD_BYTES + 1, 3);
  if (!isHello || helloBytes > recordBytes || recordBytes > RECORD_BYTES_MAX) return 'malformed';
  return bytes.length < RECORD_HEAD_BYTES + recordBytes ? 'incomplete' : 'whole';
}
