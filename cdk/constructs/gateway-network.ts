import { GatewayVpcEndpointAwsService, type IVpc, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';

/** The network of the gateway. */
export interface GatewayNetwork {
  readonly vpc: IVpc;
  /** Whether tasks have public addresses to reach AWS, because there is no NAT gateway. */
  readonly assignPublicIp: boolean;
}

/**
 * The named VPC, or a new one. A new VPC has only public subnets: a NAT gateway would cost more than everything else,
 * and the security group admits only the load balancer. Tasks reach DynamoDB through a free endpoint, and the secret,
 * the image and the log, which are small or rare, through the internet gateway.
 */
export function gatewayNetwork(scope: Construct, vpcId: string | undefined): GatewayNetwork {
  if (vpcId !== undefined) {
    const vpc = Vpc.fromLookup(scope, 'Vpc', { vpcId });
    return { vpc, assignPublicIp: vpc.privateSubnets.length === 0 };
  }
  const vpc = new Vpc(scope, 'Vpc', {
    // Each zone costs an address of the load balancer, but with one zone the gateway would fail with it.
    maxAzs: 2,
    natGateways: 0,
    subnetConfiguration: [{ name: 'Public', subnetType: SubnetType.PUBLIC, cidrMask: 24 }],
    gatewayEndpoints: { Tables: { service: GatewayVpcEndpointAwsService.DYNAMODB } },
    restrictDefaultSecurityGroup: false,
  });
  return { vpc: vpc as IVpc, assignPublicIp: true };
}
