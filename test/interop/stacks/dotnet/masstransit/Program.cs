using Dynabus.Checks;
using Dynabus.Checks.MassTransit;
using MassTransit;

var connectionString = Environment.GetEnvironmentVariable("DYNABUS_CONNECTION_STRING")
    ?? throw new InvalidOperationException("Set DYNABUS_CONNECTION_STRING.");
var control = Environment.GetEnvironmentVariable("DYNABUS_CONTROL") is { } address ? new Uri(address) : null;

var tally = new Tally(Tally.LibraryOf<ServiceBusHostSettings>());
await using (var service = await Service.Start(connectionString))
{
    await new TopologyChecks(service, connectionString).Run(tally);
    await new MessageChecks(service).Run(tally);
    await new FailureChecks(service).Run(tally);
    await new TimeChecks(service).Run(tally);
    await new LoadChecks(service, connectionString, control).Run(tally);
}

return tally.Report();
