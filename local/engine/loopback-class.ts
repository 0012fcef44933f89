/**
 * Assembles a Java class that starts DynamoDB Local on 127.0.0.1 only, and for two host names only. DynamoDB
 * Local itself listens on all interfaces, serves any `Host`, and has no option for either. The class is its
 * `main` with two more lines. A Java runtime has no compiler, so this file writes the bytecode. Requests for
 * other hosts get 404: they come from web pages whose name was made to resolve to 127.0.0.1 (DNS rebinding).
 *
 *     public static void main(String[] args) {
 *       DynamoDBProxyServer proxy = ServerRunner.createServerFromCommandLineArgs(args);
 *       Field field = DynamoDBProxyServer.class.getDeclaredField("server");
 *       field.setAccessible(true);
 *       Server server = (Server) field.get(proxy);
 *       ((ServerConnector) server.getConnectors()[0]).setHost("127.0.0.1");
 *       ((ContextHandler) server.getDescendant(ContextHandler.class))
 *           .addVirtualHosts("127.0.0.1|localhost".split("[|]"));
 *       proxy.start();
 *     }
 */

/** The name of the class, and of its file without the extension. */
export const LOOPBACK_CLASS = 'LoopbackServer';

const LOCAL = 'software/amazon/dynamodb/services/local';
const RUNNER = `${LOCAL}/main/ServerRunner`;
const PROXY = `${LOCAL}/server/DynamoDBProxyServer`;
const JETTY = 'org/eclipse/jetty/server';
const CONTEXT = `${JETTY}/handler/ContextHandler`;
const STRING = 'java/lang/String';
const FIELD = 'java/lang/reflect/Field';

/** Constants of the class file format (Java virtual machine specification, chapters 4 and 6). */
const MAGIC = 0xcafebabe;
const JAVA_8 = 52;
const PUBLIC = 0x01;
const STATIC = 0x08;
const SUPER = 0x20;
const TAG = { utf8: 1, class: 7, string: 8, method: 10, nameAndType: 12 } as const;
const OP = {
  iconst0: 0x03,
  iconst1: 0x04,
  ldcW: 0x13,
  aload0: 0x2a,
  aload1: 0x2b,
  aload2: 0x2c,
  aload3: 0x2d,
  aaload: 0x32,
  astore1: 0x4c,
  astore2: 0x4d,
  astore3: 0x4e,
  return: 0xb1,
  invokeVirtual: 0xb6,
  invokeStatic: 0xb8,
  checkCast: 0xc0,
} as const;
/** The maximum size of the operand stack, and of parameters and local variables. */
const STACK_MAX = 3;
const LOCALS_MAX = 4;

/** The bytes of the class file. */
export function loopbackClass(): Buffer {
  const pool = new ConstantPool();
  const call = (op: number, owner: string, name: string, type: string) => [
    op,
    ...u2(pool.method(owner, name, type)),
  ];
  const load = (index: number) => [OP.ldcW, ...u2(index)];
  const cast = (name: string) => [OP.checkCast, ...u2(pool.class(name))];
  const code = Buffer.from([
    OP.aload0,
    ...call(
      OP.invokeStatic,
      RUNNER,
      'createServerFromCommandLineArgs',
      `([Ljava/lang/String;)L${PROXY};`,
    ),
    OP.astore1,
    ...load(pool.class(PROXY)),
    ...load(pool.string('server')),
    ...call(
      OP.invokeVirtual,
      'java/lang/Class',
      'getDeclaredField',
      `(Ljava/lang/String;)L${FIELD};`,
    ),
    OP.astore2,
    ...[OP.aload2, OP.iconst1],
    ...call(OP.invokeVirtual, FIELD, 'setAccessible', '(Z)V'),
    ...[OP.aload2, OP.aload1],
    ...call(OP.invokeVirtual, FIELD, 'get', '(Ljava/lang/Object;)Ljava/lang/Object;'),
    ...cast(`${JETTY}/Server`),
    ...[OP.astore3, OP.aload3],
    ...call(OP.invokeVirtual, `${JETTY}/Server`, 'getConnectors', `()[L${JETTY}/Connector;`),
    ...[OP.iconst0, OP.aaload],
    ...cast(`${JETTY}/ServerConnector`),
    ...load(pool.string('127.0.0.1')),
    ...call(OP.invokeVirtual, `${JETTY}/ServerConnector`, 'setHost', '(Ljava/lang/String;)V'),
    OP.aload3,
    ...load(pool.class(CONTEXT)),
    ...call(
      OP.invokeVirtual,
      `${JETTY}/Server`,
      'getDescendant',
      `(Ljava/lang/Class;)L${JETTY}/Handler;`,
    ),
    ...cast(CONTEXT),
    ...load(pool.string('127.0.0.1|localhost')),
    ...load(pool.string('[|]')),
    ...call(OP.invokeVirtual, STRING, 'split', `(L${STRING};)[L${STRING};`),
    ...call(OP.invokeVirtual, CONTEXT, 'addVirtualHosts', `([L${STRING};)V`),
    OP.aload1,
    ...call(OP.invokeVirtual, PROXY, 'start', '()V'),
    OP.return,
  ]);
  return classFile(pool, code);
}

function classFile(pool: ConstantPool, code: Buffer): Buffer {
  const thisClass = pool.class(LOOPBACK_CLASS);
  const superClass = pool.class('java/lang/Object');
  const name = pool.utf8('main');
  const type = pool.utf8('([Ljava/lang/String;)V');
  const codeName = pool.utf8('Code');
  const [noExceptions, noAttributes] = [u2(0), u2(0)];
  const attribute = Buffer.from([
    ...u2(STACK_MAX),
    ...u2(LOCALS_MAX),
    ...u4(code.length),
    ...code,
    ...noExceptions,
    ...noAttributes,
  ]);
  const method = [
    ...u2(PUBLIC | STATIC),
    ...u2(name),
    ...u2(type),
    ...u2(1),
    ...u2(codeName),
    ...u4(attribute.length),
    ...attribute,
  ];
  const [noInterfaces, noFields] = [u2(0), u2(0)];
  return Buffer.from([
    ...u4(MAGIC),
    ...u2(0),
    ...u2(JAVA_8),
    ...pool.bytes(),
    ...u2(PUBLIC | SUPER),
    ...u2(thisClass),
    ...u2(superClass),
    ...noInterfaces,
    ...noFields,
    ...u2(1),
    ...method,
    ...noAttributes,
  ]);
}

/** The constants of a class. Its methods return the index of the constant, which counts from 1. */
class ConstantPool {
  readonly #entries: number[][] = [];

  utf8(text: string): number {
    const bytes = Buffer.from(text, 'utf8');
    return this.#add([TAG.utf8, ...u2(bytes.length), ...bytes]);
  }

  string(text: string): number {
    return this.#add([TAG.string, ...u2(this.utf8(text))]);
  }

  class(name: string): number {
    return this.#add([TAG.class, ...u2(this.utf8(name))]);
  }

  method(owner: string, name: string, type: string): number {
    const nameAndType = this.#add([
      TAG.nameAndType,
      ...u2(this.utf8(name)),
      ...u2(this.utf8(type)),
    ]);
    return this.#add([TAG.method, ...u2(this.class(owner)), ...u2(nameAndType)]);
  }

  bytes(): number[] {
    return [...u2(this.#entries.length + 1), ...this.#entries.flat()];
  }

  #add(entry: number[]): number {
    return this.#entries.push(entry);
  }
}

function u2(value: number): readonly [number, number] {
  return [value >> 8, value & 0xff];
}

function u4(value: number): readonly number[] {
  return [...u2(value >>> 16), ...u2(value & 0xffff)];
}
