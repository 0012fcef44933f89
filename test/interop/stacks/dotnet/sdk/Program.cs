using System.Reflection;
using Azure.Messaging.ServiceBus;
using Dynabus.Checks;
using Dynabus.Checks.Sdk;

// Runs all checks of this program: several at a time, and then, one by one, those that need the namespace for themselves.
// Arguments keep the checks whose class, method or sentence holds any of them.

const int ChecksAtOnce = 16;

await using var bus = new Bus();
var tally = new Tally($"{Tally.LibraryOf<ServiceBusClient>()}, {bus.Transport}");
var checks = (
    from type in Assembly.GetExecutingAssembly().GetTypes()
    from method in type.GetMethods()
    let check = method.GetCustomAttribute<CheckAttribute>()
    where check is not null && IsWanted($"{type.Name} {method.Name} {check.What}")
    select (check.What, check.Alone, Run: (Func<Task>)(() => Run(type, method)))).ToList();

await Parallel.ForEachAsync(
    checks.Where(check => !check.Alone),
    new ParallelOptions { MaxDegreeOfParallelism = ChecksAtOnce },
    async (check, _) => await tally.Check(check.What, check.Run));
foreach (var (what, _, run) in checks.Where(check => check.Alone))
{
    await tally.Check(what, run);
}

return tally.Report();

bool IsWanted(string text) =>
    args.Length == 0 || args.Any(word => text.Contains(word, StringComparison.OrdinalIgnoreCase));

Task Run(Type type, MethodInfo method) => (Task)method.Invoke(Activator.CreateInstance(type, bus), null)!;
