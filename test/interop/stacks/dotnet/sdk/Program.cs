using System.Reflection;
using Azure.Messaging.ServiceBus;
using Dynabus.Checks;
using Dynabus.Checks.Sdk;

// Runs all checks of this program: several at a time, and then, one by one, those that need the namespace for themselves.
// Arguments keep the checks whose class, method or sentence holds any of them.

const int ChecksAtOnce = 12;
// For a slow machine: a check that passes takes some seconds.
var bound = TimeSpan.FromMinutes(2);

await using var bus = new Bus();
var tally = new Tally($"{Tally.LibraryOf<ServiceBusClient>()}, {bus.Transport}");
var checks = (
    from type in Assembly.GetExecutingAssembly().GetTypes()
    from method in type.GetMethods()
    let check = method.GetCustomAttribute<CheckAttribute>()
    where check is not null && IsWanted($"{type.Name} {method.Name} {check.What}")
    select (check, type, method)).ToList();

await Parallel.ForEachAsync(
    checks.Where(one => !one.check.Alone),
    new ParallelOptions { MaxDegreeOfParallelism = ChecksAtOnce },
    async (one, _) => await Run(one.check, one.type, one.method));
foreach (var (check, type, method) in checks.Where(one => one.check.Alone))
{
    await Run(check, type, method);
}

return tally.Report();

bool IsWanted(string text) =>
    args.Length == 0 || args.Any(word => text.Contains(word, StringComparison.OrdinalIgnoreCase));

async Task Run(CheckAttribute check, Type type, MethodInfo method)
{
    if (check.NotOver == bus.Transport)
    {
        tally.LeaveOut(check.What, check.Why);
    }
    else
    {
        await tally.Check(check.What, () => (Task)method.Invoke(Activator.CreateInstance(type, bus), null)!, bound);
    }
}
