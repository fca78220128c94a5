// SPDX-License-Identifier: MIT
import org.camunda.bpm.engine.ProcessEngine;
import org.camunda.bpm.engine.ProcessEngineConfiguration;
import org.camunda.bpm.engine.RuntimeService;
import org.camunda.bpm.engine.TaskService;
import org.camunda.bpm.engine.impl.cfg.StandaloneProcessEngineConfiguration;
import org.camunda.bpm.engine.task.Task;

/** Camunda 7, as its documentation embeds it: no job executor, its own connection pool. */
final class CamundaPeer implements Peer {
    private final ProcessEngine engine;
    private final RuntimeService runtime;
    private final TaskService tasks;

    CamundaPeer(Bench.Database database, boolean history, Bench.Chain chain) {
        StandaloneProcessEngineConfiguration settings = new StandaloneProcessEngineConfiguration();
        settings.setJdbcDriver("org.mariadb.jdbc.Driver")
                .setJdbcUrl(database.url())
                .setJdbcUsername(database.user())
                .setJdbcPassword(database.password())
                .setDatabaseType("mysql")
                .setDatabaseSchemaUpdate(ProcessEngineConfiguration.DB_SCHEMA_UPDATE_TRUE)
                .setJobExecutorActivate(false);
        settings.setEnforceHistoryTimeToLive(false);
        settings.setMetricsEnabled(false);
        if (!history) {
            settings.setHistory(ProcessEngineConfiguration.HISTORY_NONE);
        }
        engine = settings.buildProcessEngine();
        runtime = engine.getRuntimeService();
        tasks = engine.getTaskService();
        engine.getRepositoryService().createDeployment()
                .addString("chain.bpmn", chain.bpmn("http://camunda.org/schema/1.0/bpmn"))
                .deploy();
        System.err.println("history level " + settings.getHistoryLevel());
    }

    @Override
    public String start() {
        return runtime.startProcessInstanceByKey(Bench.KEY).getId();
    }

    @Override
    public String waiting(String instance) {
        Task task = tasks.createTaskQuery().processInstanceId(instance).singleResult();
        return task == null ? null : task.getId();
    }

    @Override
    public void claim(String task, String user) {
        tasks.claim(task, user);
    }

    @Override
    public void complete(String task) {
        tasks.complete(task);
    }

    @Override
    public long running() {
        return runtime.createProcessInstanceQuery().count();
    }

    @Override
    public void close() {
        engine.close();
    }

    public static void main(String[] args) throws InterruptedException {
        Bench.run("camunda", args, CamundaPeer::new);
    }
}
