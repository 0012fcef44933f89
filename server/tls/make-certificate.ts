import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Certificate } from '../protocol-detector.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const VALID_MS = 2 * 365 * DAY_MS;

/** A certificate for the names of this machine, signed by itself. Node can sign, but writes no X.509. */
export function makeCertificate(now: number): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = toBeSigned(publicKey, now);
  const signature = sign('sha256', body, privateKey);
  const der = sequence(body, ECDSA_WITH_SHA256, bitString(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** One value in the Distinguished Encoding Rules: what it is, how long, and its content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Uint8Array.of(tag, length), content]);
  const bytes = length > 0xff ? [length >> 8, length & 0xff] : [length];
  return Buffer.concat([Uint8Array.of(tag, 0x80 | bytes.length, ...bytes), content]);
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const octets = (content: Uint8Array) => der(0x04, content);
const bitString = (content: Uint8Array) => der(0x03, Uint8Array.of(0), content);
const TRUE = der(0x01, Uint8Array.of(0xff));

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = oid('550403');
const ALTERNATIVE_NAMES = oid('551d11');
const BASIC_CONSTRAINTS = oid('551d13');

function toBeSigned(publicKey: KeyObject, now: number): Buffer {
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from('localhost')))));
  // The first bit is that of the sign.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x01;
  const alternatives = sequence(
    der(0x82, Buffer.from('localhost')),
    der(0x87, Uint8Array.of(127, 0, 0, 1)),
    der(0x87, Buffer.from('00000000000000000000000000000001', 'hex')),
  );
  return sequence(
    der(0xa0, der(0x02, Uint8Array.of(2))),
    der(0x02, serial),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(now - DAY_MS), time(now + VALID_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        sequence(ALTERNATIVE_NAMES, octets(alternatives)),
        // Its own authority, so that a client can trust it alone.
        sequence(BASIC_CONSTRAINTS, TRUE, octets(sequence(TRUE))),
      ),
    ),
  );
}

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14);
  return der(0x18, Buffer.from(`${digits}Z`));
}
