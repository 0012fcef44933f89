namespace Dynabus.Checks.Sdk;

/// <summary>Marks a check, and says what a user sees if it passes.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class CheckAttribute(string what) : Attribute
{
    public string What { get; } = what;

    /// <summary>The transport over which it cannot run, if there is one, and why.</summary>
    public string? NotOver { get; init; }

    public string Why { get; init; } = "";

    /// <summary>Ends the namespace meanwhile, so no other check runs beside it.</summary>
    public bool Alone { get; init; }
}
