using Dynabus.Checks;
using Dynabus.Checks.WolverineFx;
using Wolverine.AzureServiceBus;

// Proves what the sample promises. The checks share one worker and one storefront, and run one after the other.

await using var stage = new Stage();
await stage.Start();
var tally = new Tally(Tally.LibraryOf<AzureServiceBusTransport>());
var groups = new (string Name, Func<Tally, Task> Run)[]
{
    ("topology", new TopologyChecks(stage).Run),
    ("messaging", new MessagingChecks(stage).Run),
    ("time", new TimeChecks(stage).Run),
    ("failure", new FailureChecks(stage).Run),
    ("restart", new RestartChecks(stage).Run),
};
// Arguments keep the groups that they name.
foreach (var (_, run) in groups.Where(group => args.Length == 0 || args.Contains(group.Name)))
{
    await run(tally);
}

return tally.Report();
