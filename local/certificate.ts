import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { format, parse } from 'node:path';
import type { Certificate } from '../server/protocol-detector.ts';
import { makeCertificate } from '../server/tls/make-certificate.ts';
import { fileFault, writeFault } from './file-faults.ts';
import { UsageError } from './startup-error.ts';

/**
 * Reads a certificate from `file` and its private key from the key file beside it. If `file` does not exist,
 * makes both and writes them, so that clients can trust `file`. It also accepts a file that holds the key as
 * well, as earlier versions wrote. Without `file` it makes a new pair and writes nothing. Throws UsageError.
 * @param now the time of the machine, epoch ms
 */
export function obtainCertificate(file: string | undefined, now: number): Certificate {
  if (file !== undefined && existsSync(file)) return readPair(file);
  const made = makeCertificate(now);
  if (file === undefined) return made;
  const keyFile = keyFileOf(file);
  // Only the owner may read the key.
  writeNew(keyFile, made.key, 0o600);
  try {
    writeNew(file, made.certificate, 0o666);
  } catch (error) {
    rmSync(keyFile, { force: true });
    throw error;
  }
  return made;
}

/** Writes a file, and fails instead of overwriting one. */
function writeNew(file: string, text: string, mode: number): void {
  try {
    writeFileSync(file, text, { mode, flag: 'wx' });
  } catch (cause) {
    throw new UsageError(`The file ${file} cannot be written: ${writeFault(cause)}.`, { cause });
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
    throw new UsageError(`The file ${file} does not hold a certificate as PEM.`);
  }
  const keyFile = keyFileOf(file);
  const key = readKey(file) ?? (existsSync(keyFile) ? readKey(keyFile) : undefined);
  if (key !== undefined && isKeyPair(certificate, key)) return { certificate, key };
  throw new UsageError(
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
  try {
    return readFileSync(file, 'utf8').match(block)?.[0];
  } catch (cause) {
    throw new UsageError(`The file ${file} cannot be read: ${fileFault(cause)}.`, { cause });
  }
}

function isKeyPair(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
