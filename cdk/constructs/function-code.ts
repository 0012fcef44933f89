import { AssetHashType, type AssetOptions, AssetStaging, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { FunctionName } from '../functions.ts';
import { bundle, bundleGateway, functionFolder, GATEWAY_FOLDER } from './bundle.ts';

/**
 * The code of the functions and of the gateway, bundled from source at synthesis. The build of the package puts
 * package/prebuilt-code.ts in the place of this file.
 */

/** The code of a function: a folder with `index.js`, which exports `handler`. */
export function functionCode(name: FunctionName): Code {
  return Code.fromAsset(
    functionFolder(name),
    bundledHere((outputDirectory) => bundle(name, outputDirectory)),
  );
}

/** The folder with the build context of the gateway's image. A deployment builds the image with Docker. */
export function gatewayContext(scope: Construct): string {
  const { absoluteStagedPath } = new AssetStaging(scope, 'Code', {
    sourcePath: GATEWAY_FOLDER,
    ...bundledHere(bundleGateway),
  });
  return absoluteStagedPath;
}

/** Asset options that make CDK bundle with this repository's esbuild, without Docker or network. */
function bundledHere(run: (outputDirectory: string) => void): AssetOptions {
  return {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Never run: `local` always succeeds or throws.
      image: DockerImage.fromRegistry('scratch'),
      local: {
        tryBundle: (outputDirectory) => {
          run(outputDirectory);
          return true;
        },
      },
    },
  };
}
