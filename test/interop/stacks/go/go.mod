module dynabus/test/interop/stacks/go

go 1.23.0

require github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus v1.10.0
