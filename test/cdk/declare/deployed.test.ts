import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { bundle } from '../../../cdk/constructs/bundle.ts';
import { shop } from '../entities/app.ts';
import { registerDeployed } from './deployed-scenarios.ts';
import { declareFunction, type WholeTemplate } from './template-stack.ts';

/** The bundle of the function, with the variables that a template gives it. */

const folder = mkdtempSync(join(tmpdir(), 'dynabus-declare-'));
after(() => rmSync(folder, { recursive: true }));
bundle('declare', folder);
const { environment } = declareFunction(shop().template().toJSON() as WholeTemplate);

registerDeployed('the bundle', () => ({ file: join(folder, 'index.js'), environment }));
