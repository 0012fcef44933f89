import { createHmac } from 'node:crypto';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';

// A client of one queue or topic over HTTP, in files that need no bundler: Lambda brings the AWS SDK. If your code is
// bundled, createSasToken and parseConnectionString of the package dynabus do the same.

const TOKEN_SECONDS = 300;

const ssm = new SSMClient();

/** The entity whose environment variables begin with a prefix, as addEnvironment has set them. */
export class Entity {
  #address;
  #parameter;
  #rule;

  constructor(prefix) {
    const { env } = process;
    this.#address = `${env[`${prefix}_ENDPOINT`]}/${env[`${prefix}_ENTITY`]}`;
    this.#parameter = env[`${prefix}_CONNECTION_PARAMETER`];
  }

  /** Makes a request. `path` = a path below the entity, or a whole address, such as that of a lock. */
  async request(method, path, { headers = {}, body } = {}) {
    const url = path.startsWith('https:') || path.startsWith('http:') ? path : this.#address + path;
    const authorization = await this.#token();
    const response = await fetch(url, { method, body, headers: { ...headers, authorization } });
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status}`);
    return response;
  }

  async #token() {
    // The rule of this function keeps its key as long as it exists, so that one read is enough.
    this.#rule ??= await readRule(this.#parameter);
    const { name, key } = this.#rule;
    const sr = encodeURIComponent(this.#address);
    const se = Math.floor(Date.now() / 1000) + TOKEN_SECONDS;
    const sig = createHmac('sha256', key).update(`${sr}\n${se}`).digest('base64');
    return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(sig)}&se=${se}&skn=${name}`;
  }
}

/** Reads name and key of a rule from the connection string in a parameter. */
async function readRule(parameter) {
  const command = new GetParameterCommand({ Name: parameter, WithDecryption: true });
  const { Parameter } = await ssm.send(command);
  const field = (name) => new RegExp(`(?:^|;)${name}=([^;]*)`).exec(Parameter.Value)[1];
  return { name: field('SharedAccessKeyName'), key: field('SharedAccessKey') };
}
