import { GatewayVpcEndpointAwsService, type IVpc, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';

/** Where the gateway lives. */
export interface GatewayNetwork {
  readonly vpc: IVpc;
  /** Whether tasks reach AWS by public addresses of their own, for want of a NAT gateway. */
  readonly assignPublicIp: boolean;
}

/**
 * The VPC that is named, or one made for the gateway. That has public subnets only: a NAT gateway would
 * cost more than all the rest together, and the security group lets nobody in but the load balancer.
 * DynamoDB is reached through an endpoint that is free; the secret, the image and the log, which are
 * small or rare, by way of the internet gateway.
 */
export function gatewayNetwork(scope: Construct, vpcId: string | undefined): GatewayNetwork {
  if (vpcId !== undefined) {
    const vpc = Vpc.fromLookup(scope, 'Vpc', { vpcId });
    return { vpc, assignPublicIp: vpc.privateSubnets.length === 0 };
  }
  const vpc = new Vpc(scope, 'Vpc', {
    // A load balancer takes an address in each, which is paid for; with one it would stand and fall.
    maxAzs: 2,
    natGateways: 0,
    subnetConfiguration: [{ name: 'Public', subnetType: SubnetType.PUBLIC, cidrMask: 24 }],
    gatewayEndpoints: { Tables: { service: GatewayVpcEndpointAwsService.DYNAMODB } },
    restrictDefaultSecurityGroup: false,
  });
  return { vpc: vpc as IVpc, assignPublicIp: true };
}
