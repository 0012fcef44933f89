using System.Runtime.CompilerServices;

namespace Dynabus.Checks.WolverineFx;

/// <summary>Waits as long as a busy machine needs to compile a handler and to handle its first message.</summary>
internal static class Wait
{
    private static readonly TimeSpan Bound = TimeSpan.FromSeconds(45);

    public static Task Until(Func<bool> condition, [CallerArgumentExpression(nameof(condition))] string of = "") =>
        Expect.Eventually(condition, Bound, of);

    public static Task Until(
        Func<Task<bool>> condition,
        [CallerArgumentExpression(nameof(condition))] string of = "") =>
        Expect.Eventually(condition, Bound, of);
}
