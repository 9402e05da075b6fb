"""The plan that Catalyst makes of a DataFrame, taken before it looks at data.

Catalyst resolves names, makes joins of correlated subqueries and prunes columns.  Left out are its rules that read
sizes and rows, which would make a plan right for today's rows only, and those that add what helps only a single pass.

Rule: nothing is set on the user's session.  The optimiser runs in a clone of it, which is active during the call only.
"""

from __future__ import annotations

from typing import Any

from ebbflow.errors import DataFrameError, TypeMismatch
from ebbflow.relational.catalyst import tree
from ebbflow.relational.catalyst.tree import Node

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."
_EXECUTION = "org.apache.spark.sql.execution."
READ_DATA = (
    "ConvertToLocalRelation", "PropagateEmptyRelation", "OptimizeOneRowPlan", "OptimizeOneRowRelationSubquery",
    "EliminateLimits", "EliminateOffsets", "CostBasedJoinReorder", "RewriteNonCorrelatedExists",
)  # fmt: skip
"""Rules that look at rows or at how many there are."""
FOR_ONE_PASS = (
    "InferFiltersFromConstraints", "InferFiltersFromGenerate", "DecimalAggregates", "OptimizeIn", "LimitPushDown",
    "LimitPushDownThroughWindow", "InferWindowGroupLimit", "MergeSubplans", "MergeScalarSubqueries",
    "InjectRuntimeFilter", "PushExtraPredicateThroughJoin", "EliminateSorts", "RemoveRedundantSorts",
    "PushProjectionThroughLimitAndOffset", "PushProjectionThroughLimit", "LikeSimplification", "CollapseRepartition",
    "OptimizeRepartition", "PushDownJoinThroughUnion", "PushDownLeftSemiAntiJoin", "PushLeftSemiLeftAntiThroughJoin",
    "OptimizeCsvJsonExprs", "CheckCartesianProducts",
)  # fmt: skip
"""Rules that change how a single pass goes, not what is asked."""
PHYSICAL = (
    "datasources.SchemaPruning", "datasources.PruneFileSourcePartitions", "datasources.PushVariantIntoScan",
    "datasources.v2.V2ScanRelationPushDown", "datasources.v2.GroupBasedRowLevelOperationScanPlanning",
    "dynamicpruning.PartitionPruning", "dynamicpruning.CleanupDynamicPruningFilters", "OptimizeMetadataOnlyQuery",
)  # fmt: skip
JAVA_CALLS = ("Invoke", "StaticInvoke")
EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
EXCLUDED = ",".join(
    [
        *(_OPTIMIZER + rule for rule in (*READ_DATA, *FOR_ONE_PASS)),
        *(_EXECUTION + rule for rule in PHYSICAL),
        "org.apache.spark.sql.delta.stats.PrepareDeltaScan",  # leaves out files by what they hold today
    ]
)


def checked(df: Any) -> Any:
    """Refuse what has no plan that can be read."""
    if hasattr(df, "_jdf") and hasattr(df, "sparkSession"):
        return df
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise DataFrameError(
            "a DataFrame of Spark Connect does not give its plan.",
            hint="Use a classic session (SparkSession.builder.master(...)), or write the query as text: flow.sql(...).",
        )
    raise TypeMismatch(
        f"dataframe takes a DataFrame of PySpark; got {type(df).__name__}.", hint='For example spark.table("orders").'
    )


def analysed(df: Any) -> Node:
    """The plan as it was written, with names resolved."""
    return tree.of(df._jdf.queryExecution().analyzed())


def optimised(df: Any) -> Node:
    """The plan as Catalyst's own rules simplify it."""
    spark = df.sparkSession
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    clone = spark._jsparkSession.cloneSession()
    theirs = clone.conf().get(EXCLUDED_RULES, "")
    clone.conf().set(EXCLUDED_RULES, f"{theirs},{EXCLUDED}" if theirs else EXCLUDED)
    active = sessions.getActiveSession()
    sessions.setActiveSession(clone)  # rules read the settings of the session that is active
    try:
        return tree.of(clone.sessionState().optimizer().execute(df._jdf.queryExecution().analyzed()))
    finally:
        if active.isDefined():
            sessions.setActiveSession(active.get())
        else:
            sessions.clearActiveSession()


def note_replaced(found: Node, written: Node) -> None:
    """Say of each call into Java, which Catalyst puts for some functions, which function it was: a call knows neither
    its name nor where it stands in a text.
    """
    calls = [part for part in found.walk() if part.kind in JAVA_CALLS]
    if not calls:
        return
    for part in written.walk():
        if part.is_plan or part.kind in JAVA_CALLS:
            continue
        try:
            means = part.java.replacement()
        except Exception:  # few expressions are replaced by others
            continue
        for call in calls:
            if call.written is None and means.semanticEquals(call.java):
                call.written = part


def frame_of(df: Any, leaf: Node) -> Any:
    """A leaf of a DataFrame's plan as a DataFrame of its own, in the same session."""
    from pyspark.sql import DataFrame

    spark = df.sparkSession
    classic = spark._jvm.org.apache.spark.sql.classic
    return DataFrame(classic.Dataset.ofRows(spark._jsparkSession, leaf.java), spark)
