using Azure.Messaging.ServiceBus;
using Dynabus.Checks;
using Dynabus.Checks.RebusTransport;
using Rebus.AzureServiceBus;

// The sample writes to the console what it does; the last line there belongs to the counts.
var output = Console.Out;
Console.SetOut(TextWriter.Null);
var tally = new Tally($"{Tally.LibraryOf<AzureServiceBusTransport>()}, {Tally.LibraryOf<ServiceBusClient>()}");
await using (var shop = await RunningShop.Start())
{
    var locks = LockChecks.Run(tally, shop);
    await ShopChecks.Run(tally, shop);
    await FailureChecks.Run(tally, shop);
    await TransportChecks.Run(tally);
    await LoadChecks.Run(tally);
    await locks;
}

// It ends all connections, so that nothing else may run beside it.
await RestartChecks.Run(tally);
Console.SetOut(output);
return tally.Report();
