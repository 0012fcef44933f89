import { createPrivateKey } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Certificate } from '../server/protocols.ts';
import { makeCertificate } from '../server/tls/make-certificate.ts';
import { StartupError } from './startup-error.ts';

/**
 * Reads a certificate and its key from a file, or makes them and keeps them there, so that clients can
 * be told to trust it. Without a file nothing is kept. Throws StartupError.
 */
export function obtainCertificate(file: string | undefined, now: number): Certificate {
  if (file !== undefined && existsSync(file)) return readPem(file, readFileSync(file, 'utf8'));
  const made = makeCertificate(now);
  if (file === undefined) return made;
  try {
    // Only its owner may read the key.
    writeFileSync(file, made.certificate + made.key, { mode: 0o600 });
    return made;
  } catch (cause) {
    throw new StartupError(`The certificate cannot be written to ${file}.`, { cause });
  }
}

function readPem(file: string, text: string): Certificate {
  const block = (name: RegExp) => text.match(name)?.[0];
  const certificate = block(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/);
  const key = block(
    /-----BEGIN (?:EC )?PRIVATE KEY-----[\s\S]+?-----END (?:EC )?PRIVATE KEY-----\n?/,
  );
  if (certificate !== undefined && key !== undefined && isKey(key)) return { certificate, key };
  throw new StartupError(`The file ${file} does not hold a certificate and its key as PEM.`);
}

function isKey(pem: string): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false;
  }
}
