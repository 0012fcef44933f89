import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { format, parse } from 'node:path';
import type { Certificate } from '../server/protocol-detector.ts';
import { makeCertificate } from '../server/tls/make-certificate.ts';
import { StartupError } from './startup-error.ts';

/**
 * Reads a certificate from `file` and its private key from the key file beside it. If `file` does not exist,
 * makes both and writes them, so that clients can trust `file`. It also accepts a file that holds the key as
 * well, as earlier versions wrote. Without `file` it makes a new pair and writes nothing. Throws StartupError.
 * @param now the time of the machine, epoch ms
 */
export function obtainCertificate(file: string | undefined, now: number): Certificate {
  if (file !== undefined && existsSync(file)) return readPair(file);
  const made = makeCertificate(now);
  if (file === undefined) return made;
  try {
    // Only the owner may read the key. 'wx' fails instead of overwriting a file.
    writeFileSync(keyFileOf(file), made.key, { mode: 0o600, flag: 'wx' });
    writeFileSync(file, made.certificate, { flag: 'wx' });
    return made;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`The certificate and its key cannot be written: ${reason}.`, { cause });
  }
}

/** The path of a certificate's private key: `cert-key.pem` for `cert.pem`, as mkcert names it. */
export function keyFileOf(file: string): string {
  const { dir, name, ext } = parse(file);
  return format({ dir, name: `${name}-key`, ext });
}

function readPair(file: string): Certificate {
  const certificate = readPemBlock(
    file,
    /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/,
  );
  if (certificate === undefined) {
    throw new StartupError(`The file ${file} does not hold a certificate as PEM.`);
  }
  const keyFile = keyFileOf(file);
  const key = readKey(file) ?? (existsSync(keyFile) ? readKey(keyFile) : undefined);
  if (key !== undefined && isKeyPair(certificate, key)) return { certificate, key };
  throw new StartupError(
    `Neither ${keyFile} nor ${file} holds the private key of the certificate in ${file} as PEM. Remove the certificate, and the server makes both again.`,
  );
}

function readKey(file: string): string | undefined {
  return readPemBlock(
    file,
    /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[\s\S]+?-----END \1?PRIVATE KEY-----\n?/,
  );
}

function readPemBlock(file: string, block: RegExp): string | undefined {
  return readFileSync(file, 'utf8').match(block)?.[0];
}

function isKeyPair(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
