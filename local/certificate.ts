import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { format, parse } from 'node:path';
import type { Certificate } from '../server/protocols.ts';
import { makeCertificate } from '../server/tls/make-certificate.ts';
import { StartupError } from './startup-error.ts';

/**
 * Reads a certificate from `file` and its private key from the key file beside it, or makes both and
 * writes them there, so that clients can be told to trust `file`. A file that holds the key as well is
 * read too: earlier versions wrote one. Without `file` nothing is written. Throws StartupError.
 */
export function obtainCertificate(file: string | undefined, now: number): Certificate {
  if (file !== undefined && existsSync(file)) return readPair(file);
  const made = makeCertificate(now);
  if (file === undefined) return made;
  try {
    // Only its owner may read the key, and a key that is already there is not overwritten.
    writeFileSync(keyFileOf(file), made.key, { mode: 0o600, flag: 'wx' });
    writeFileSync(file, made.certificate, { flag: 'wx' });
    return made;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`The certificate and its key cannot be written: ${reason}.`, { cause });
  }
}

/** Where the private key of a certificate lies: for `cert.pem` in `cert-key.pem`, as mkcert names it. */
export function keyFileOf(file: string): string {
  const { dir, name, ext } = parse(file);
  return format({ dir, name: `${name}-key`, ext });
}

function readPair(file: string): Certificate {
  const certificate = pemIn(
    file,
    /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/,
  );
  if (certificate === undefined) {
    throw new StartupError(`The file ${file} does not hold a certificate as PEM.`);
  }
  const keyFile = keyFileOf(file);
  const key = keyIn(file) ?? (existsSync(keyFile) ? keyIn(keyFile) : undefined);
  if (key !== undefined && belongTogether(certificate, key)) return { certificate, key };
  throw new StartupError(
    `Neither ${keyFile} nor ${file} holds the private key of the certificate in ${file} as PEM. Remove the certificate to have both made anew.`,
  );
}

function keyIn(file: string): string | undefined {
  return pemIn(
    file,
    /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[\s\S]+?-----END \1?PRIVATE KEY-----\n?/,
  );
}

function pemIn(file: string, block: RegExp): string | undefined {
  return readFileSync(file, 'utf8').match(block)?.[0];
}

function belongTogether(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
