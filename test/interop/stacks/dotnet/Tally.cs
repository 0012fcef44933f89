using System.Diagnostics;
using System.Reflection;
using System.Text.Json;

namespace Dynabus.Checks;

/// <summary>
/// Counts the checks of a program. Each check is a line on stderr; <see cref="Report"/> prints the counts as the last line
/// of stdout, where <c>npm run stacks</c> reads them. Checks may run at the same time.
/// </summary>
public sealed class Tally(string what)
{
    private static readonly TimeSpan DefaultBound = TimeSpan.FromSeconds(60);

    private int ran;
    private int failed;
    private int skipped;

    /// <summary>A library's name and version, as its assembly states them.</summary>
    public static string LibraryOf<T>()
    {
        var assembly = typeof(T).Assembly;
        var version = assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
            ?? assembly.GetName().Version?.ToString();
        return $"{assembly.GetName().Name} {version?.Split('+')[0]}";
    }

    /// <summary>Runs a check. It passes if it returns within its bound, 60 s unless another one is given.</summary>
    public async Task Check(string name, Func<Task> check, TimeSpan? bound = null)
    {
        Interlocked.Increment(ref ran);
        var watch = Stopwatch.StartNew();
        var limit = bound ?? DefaultBound;
        try
        {
            await Task.Run(check).WaitAsync(limit);
            Say($"ok  {name}");
        }
        catch (Exception error)
        {
            Interlocked.Increment(ref failed);
            var isLate = error is TimeoutException && watch.Elapsed >= limit;
            Say($"FAIL  {name}: {(isLate ? $"it did not end within {limit.TotalSeconds} s" : ReasonOf(error))}");
        }
    }

    /// <summary>Counts a check that cannot run here, and says why.</summary>
    public void LeaveOut(string name, string why)
    {
        Interlocked.Increment(ref ran);
        Interlocked.Increment(ref skipped);
        Say($"left out  {name}: {why}");
    }

    /// <summary>Prints the counts and returns the exit code that goes with them: 1 if a check failed.</summary>
    public int Report()
    {
        Console.WriteLine(JsonSerializer.Serialize(new { what, ran, failed, skipped }));
        return failed == 0 ? 0 : 1;
    }

    private static void Say(string line) => Console.Error.WriteLine(line);

    private static string ReasonOf(Exception error) =>
        $"{error.GetType().Name}: {error.Message}".ReplaceLineEndings(" ") + LineOf(error);

    /// <summary>The innermost line of a program of checks, by which a failure is found.</summary>
    private static string LineOf(Exception error)
    {
        var frame = new StackTrace(error, fNeedFileInfo: true)
            .GetFrames()
            .FirstOrDefault(frame => frame.GetFileName() is { } file && !file.EndsWith("Expect.cs"));
        return frame is null ? "" : $" ({Path.GetFileName(frame.GetFileName())}:{frame.GetFileLineNumber()})";
    }
}
