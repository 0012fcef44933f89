using System.Runtime.CompilerServices;

namespace Dynabus.Checks;

/// <summary>What a check expected did not come true.</summary>
public sealed class ExpectationException(string message) : Exception(message);

/// <summary>Exact expectations. Each names the expression that was looked at.</summary>
public static class Expect
{
    public static void Equal<T>(T expected, T actual, [CallerArgumentExpression(nameof(actual))] string of = "")
    {
        if (!EqualityComparer<T>.Default.Equals(expected, actual))
        {
            throw new ExpectationException($"{of} is {Shown(actual)}, not {Shown(expected)}");
        }
    }

    /// <summary>Both have the same elements in the same order.</summary>
    public static void Sequence<T>(
        IEnumerable<T> expected,
        IEnumerable<T> actual,
        [CallerArgumentExpression(nameof(actual))] string of = "")
    {
        var (wanted, found) = (expected.ToList(), actual.ToList());
        if (!wanted.SequenceEqual(found))
        {
            throw new ExpectationException($"{of} is [{Listed(found)}], not [{Listed(wanted)}]");
        }
    }

    public static void True(bool condition, [CallerArgumentExpression(nameof(condition))] string of = "")
    {
        if (!condition)
        {
            throw new ExpectationException($"it is not true that {of}");
        }
    }

    public static void Between<T>(T least, T most, T actual, [CallerArgumentExpression(nameof(actual))] string of = "")
        where T : IComparable<T>
    {
        if (actual.CompareTo(least) < 0 || actual.CompareTo(most) > 0)
        {
            throw new ExpectationException($"{of} is {Shown(actual)}, not between {Shown(least)} and {Shown(most)}");
        }
    }

    /// <summary>Returns the value, which must be there.</summary>
    public static T Present<T>(T? value, [CallerArgumentExpression(nameof(value))] string of = "")
        where T : class =>
        value ?? throw new ExpectationException($"{of} is null");

    /// <summary>Returns the exception, which must be of this type or of one derived from it.</summary>
    public static async Task<TException> Throws<TException>(
        Func<Task> action,
        [CallerArgumentExpression(nameof(action))] string of = "")
        where TException : Exception
    {
        try
        {
            await action();
        }
        catch (TException expected)
        {
            return expected;
        }
        catch (Exception other)
        {
            throw new ExpectationException(
                $"{of} threw {other.GetType().Name} ({other.Message}), not {typeof(TException).Name}");
        }

        throw new ExpectationException($"{of} did not throw {typeof(TException).Name}");
    }

    /// <summary>Waits until the condition holds, up to 60 s unless another bound is given.</summary>
    public static async Task Eventually(
        Func<Task<bool>> condition,
        TimeSpan? bound = null,
        [CallerArgumentExpression(nameof(condition))] string of = "")
    {
        var limit = bound ?? TimeSpan.FromSeconds(60);
        var until = DateTimeOffset.UtcNow + limit;
        while (!await condition())
        {
            if (DateTimeOffset.UtcNow > until)
            {
                throw new ExpectationException($"within {limit.TotalSeconds} s it did not come true that {of}");
            }

            await Task.Delay(TimeSpan.FromMilliseconds(50));
        }
    }

    public static Task Eventually(
        Func<bool> condition,
        TimeSpan? bound = null,
        [CallerArgumentExpression(nameof(condition))] string of = "") =>
        Eventually(() => Task.FromResult(condition()), bound, of);

    private static string Listed<T>(IEnumerable<T> values) => string.Join(", ", values.Select(value => Shown(value)));

    private static string Shown(object? value) => value switch
    {
        null => "null",
        string text => $"\"{text}\"",
        DateTimeOffset time => time.ToString("O"),
        _ => $"{value}",
    };
}
